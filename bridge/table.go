package bridge

import (
	"fmt"
	"slices"
)

// table has all routes by side and method.
type table [2]sideRoutes

type sideRoutes struct {
	named map[string][]featureRoute
	other []featureRoute
}

// featureRoute is a route with the index of its feature.
type featureRoute struct {
	*Route
	feature int
}

// forMethod returns the routes of a method, in the order of the features.
func (s *sideRoutes) forMethod(method string) []featureRoute {
	if routes, ok := s.named[method]; ok {
		return routes
	}
	return s.other
}

// activeRoutes returns all routes of a client's message, or nil if none is active.
func activeRoutes(routes []featureRoute) []featureRoute {
	for i := range routes {
		if routes[i].When == nil || routes[i].When() {
			return routes
		}
	}
	return nil
}

func newTable(features []Feature) (*table, error) {
	if err := checkStages(features); err != nil {
		return nil, err
	}
	var t table
	for i := range t {
		t[i].named = make(map[string][]featureRoute)
	}
	all := make([][]Route, len(features))
	for i, f := range features {
		all[i] = f.Routes()
		for _, r := range all[i] {
			if (r.From == Client) != (r.HandleClient != nil) || (r.From == Codex) != (r.HandleServer != nil) {
				return nil, fmt.Errorf("route %s from %s: the handler is for the other side", r.Method, r.From)
			}
			if r.Method != Other {
				t[r.From].named[r.Method] = nil
			}
		}
	}
	for feature, routes := range all {
		for i := range t {
			t[i].add(Side(i), feature, routes)
		}
	}
	return &t, nil
}

// checkStages returns an error if a feature comes after one of a later stage.
func checkStages(features []Feature) error {
	for i, f := range features[:max(len(features)-1, 0)] {
		if next := features[i+1]; next.Stage() < f.Stage() {
			return fmt.Errorf("feature %T (%s) comes after %T (%s)", next, next.Stage(), f, f.Stage())
		}
	}
	return nil
}

// add adds the routes of one feature. Its Other route is added to every method that another
// feature has a route for and this one has not.
func (s *sideRoutes) add(from Side, feature int, routes []Route) {
	var own []string
	for i := range routes {
		if r := &routes[i]; r.From == from && r.Method != Other {
			s.named[r.Method] = append(s.named[r.Method], featureRoute{r, feature})
			own = append(own, r.Method)
		}
	}
	for i := range routes {
		r := &routes[i]
		if r.From != from || r.Method != Other {
			continue
		}
		s.other = append(s.other, featureRoute{r, feature})
		for method := range s.named {
			if method != Unsolicited && !slices.Contains(own, method) {
				s.named[method] = append(s.named[method], featureRoute{r, feature})
			}
		}
	}
}
