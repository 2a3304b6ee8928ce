package api

import (
	"net/http"

	"github.com/toolgate/toolgate/internal/decision"
)

// searchResource serves POST /access/v1/search/resource: which tools, or which
// MCP servers, may this subject use. All results come on one page.
func (a *API) searchResource(w http.ResponseWriter, r *http.Request) {
	s := newScratch()
	defer s.free()
	if !a.body(w, r, s) {
		return
	}
	req, err := decodeSearch(s.in.Bytes())
	if err != nil && !isDenied(err) {
		a.failed(w, err)
		return
	}
	var names []string
	if err == nil && listable(req) {
		names = a.lister.Resources(r.Context(), req)
	}
	s.out = append(s.out, `{"page":{"next_token":""},"results":[`...)
	for i, name := range names {
		if i > 0 {
			s.out = append(s.out, ',')
		}
		s.out = append(s.out, '{')
		s.out = pair(s.out, "type", req.Resource.Kind.String())
		s.out = pair(s.out, "id", name)
		s.out = append(s.out, '}')
	}
	s.out = append(s.out, `]}`...)
	a.reply(w, s.out)
}

// listable reports whether there is a list: of tools and of servers, for an
// agent. URLs and commands have no list.
func listable(req *decision.Request) bool {
	k := req.Resource.Kind
	return req.Agent != "" && (k == decision.KindTool || k == decision.KindMCPServer)
}

// decodeSearch reads the body of a resource search. An id of the resource is
// ignored (AuthZEN 1.0, section 8.5).
func decodeSearch(data []byte) (*decision.Request, error) {
	r := newReader(data)
	defer r.free()
	var p parts
	err := r.whole(searchMembers, &p.fault, func(name string) error {
		if name == "page" {
			return r.page(&p.fault)
		}
		return r.entity(name, &p)
	})
	if err != nil {
		return nil, err
	}
	if err := p.complete(false); err != nil {
		return nil, err
	}
	p.resource.id = ""
	return p.build()
}

// page reads the wish for a page. There is only one, so a token is not ours.
func (r *reader) page(f *fault) error {
	return r.each("page", pageMembers, f, func(name string) error {
		if name == "limit" {
			if k := r.dec.PeekKind(); k != '0' {
				f.note("page.limit must be a number, not " + kindName(k))
			}
			return r.skip()
		}
		token, err := r.text("page.token", f)
		if token != "" {
			f.note("page.token is not one that was given out")
		}
		return err
	})
}
