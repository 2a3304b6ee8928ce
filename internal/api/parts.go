package api

// subject, action, resource and facts are the four entities of a question as
// they stand in a request. The zero value was not sent.
type (
	subject struct {
		sent    bool
		typ, id string
	}
	action struct {
		sent    bool
		name    string
		args    map[string]any
		hasArgs bool
	}
	resource struct {
		sent    bool
		typ, id string
		args    map[string]any
		hasArgs bool
		hops    []string
	}
	facts struct {
		sent                                                        bool
		agent, run, version, stage, taskType, repository, job, tool string
		planned                                                     []string
		hasPlan                                                     bool
	}
)

// parts is a question in its parts: a whole request, or one item of a batch.
type parts struct {
	subject  subject
	action   action
	resource resource
	facts    facts
	fault    fault // the first wrong shape
}

// inherit takes from the defaults of a batch each entity that p did not send,
// whole (AuthZEN 1.0, section 7.1.1): there is no merge inside an entity.
func (p *parts) inherit(defaults *parts) {
	if !p.subject.sent {
		p.subject = defaults.subject
	}
	if !p.action.sent {
		p.action = defaults.action
	}
	if !p.resource.sent {
		p.resource = defaults.resource
	}
	if !p.facts.sent {
		p.facts = defaults.facts
	}
}

// entity reads the value of one of the four entities.
func (r *reader) entity(name string, p *parts) error {
	switch name {
	case "subject":
		p.subject.sent = true
		return r.each("subject", subjectMembers, &p.fault, func(m string) (err error) {
			switch m {
			case "type":
				p.subject.typ, err = r.text("subject.type", &p.fault)
			case "id":
				p.subject.id, err = r.text("subject.id", &p.fault)
			}
			return err
		})
	case "action":
		p.action.sent = true
		return r.action(p)
	case "resource":
		p.resource.sent = true
		return r.resource(p)
	case "context":
		p.facts.sent = true
		return r.context(p)
	}
	return r.skip()
}

// each reads the object what and calls read for each member of it that is
// known, with the reader before the member's value.
func (r *reader) each(what string, m members, f *fault, read func(name string) error) error {
	is, err := r.object(what, f)
	if !is || err != nil {
		return err
	}
	return r.rest(m, f, read)
}

// rest reads the members of the open object.
func (r *reader) rest(m members, f *fault, read func(name string) error) error {
	for {
		more, err := r.more('}')
		if err != nil || !more {
			return err
		}
		name, err := r.member(m, f)
		if err != nil {
			return err
		}
		if name == "" {
			continue
		}
		if err := read(name); err != nil {
			return err
		}
	}
}

func (r *reader) action(p *parts) error {
	return r.each("action", actionMembers, &p.fault, func(m string) (err error) {
		if m == "name" {
			p.action.name, err = r.text("action.name", &p.fault)
			return err
		}
		return r.each("action.properties", actionProps, &p.fault, func(string) (err error) {
			p.action.hasArgs = true
			p.action.args, err = r.arguments("action.properties.arguments", &p.fault)
			return err
		})
	})
}

func (r *reader) resource(p *parts) error {
	res := &p.resource
	return r.each("resource", resourceMembers, &p.fault, func(m string) (err error) {
		switch m {
		case "type":
			res.typ, err = r.text("resource.type", &p.fault)
		case "id":
			res.id, err = r.text("resource.id", &p.fault)
		case "properties":
			err = r.each("resource.properties", resourceProps, &p.fault, func(m string) (err error) {
				if m == "hops" {
					res.hops, err = r.texts("resource.properties.hops", &p.fault)
					return err
				}
				res.hasArgs = true
				res.args, err = r.arguments("resource.properties.arguments", &p.fault)
				return err
			})
		}
		return err
	})
}

func (r *reader) context(p *parts) error {
	c := &p.facts
	return r.each("context", contextMembers, &p.fault, func(m string) (err error) {
		var into *string
		switch m {
		case "planned":
			c.hasPlan = true
			c.planned, err = r.texts("context.planned", &p.fault)
			return err
		case "agent":
			into = &c.agent
		case "run":
			into = &c.run
		case "version":
			into = &c.version
		case "stage":
			into = &c.stage
		case "task_type":
			into = &c.taskType
		case "repository":
			into = &c.repository
		case "job":
			into = &c.job
		case "tool":
			into = &c.tool
		}
		*into, err = r.text("context."+m, &p.fault)
		return err
	})
}
