package api

import "net/http"

// metadata serves GET /.well-known/authzen-configuration (AuthZEN 1.0, section
// 9): only the endpoints that exist.
func (a *API) metadata(w http.ResponseWriter, r *http.Request) {
	base := a.baseURL
	if base == "" {
		base = "http://" + r.Host
		if r.Host == "" {
			base += "localhost"
		}
	}
	out := append([]byte(nil), '{')
	out = pair(out, "policy_decision_point", base)
	out = pair(out, "access_evaluation_endpoint", base+pathEvaluation)
	out = pair(out, "access_evaluations_endpoint", base+pathEvaluations)
	out = pair(out, "search_resource_endpoint", base+pathSearchResource)
	a.reply(w, append(out, '}'))
}
