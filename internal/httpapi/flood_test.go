package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"baton/internal/directory"
	"baton/internal/httpapi"
)

// What a stranger writes is read by others in lists: as much of it as there may be, of what takes most room in an answer,
// leaves each of them readable, also for a client without Accept. TestLargestAnswers has the single tasks.
func TestNobodysTextsBreakTheListsOfOthers(t *testing.T) {
	t.Run("profiles", func(t *testing.T) {
		w := newWorld(t)
		skill := func(examples int) directory.Skill {
			s := directory.Skill{ID: "1", Name: "n", Description: strings.Repeat(`"`, 500)}
			for range examples {
				s.Examples = append(s.Examples, strings.Repeat(`"`, 500))
			}
			return s
		}
		edit := func(n, examples int) directory.IdentityEdit {
			handle, discoverable, skills := fmt.Sprint("flood-", n), true, make([]directory.Skill, 20)
			for i := range skills {
				skills[i] = skill(examples)
			}
			return directory.IdentityEdit{Handle: &handle, Discoverable: &discoverable, Skills: &skills}
		}
		_, err := w.people.CreateIdentity(t.Context(), w.in(w.key["foreign admin"]), edit(0, 10))
		if err == nil || !strings.Contains(err.Error(), "skills") {
			t.Errorf("a profile of 220 KB: %v", err)
		}
		for n := range 100 {
			_, err := w.people.CreateIdentity(t.Context(), w.in(w.key["foreign admin"]), edit(n, 0))
			w.must(err)
		}
		for _, as := range []string{"asker", "foreign admin"} {
			for _, path := range []string{"/v1/discover?limit=100", "/v1/identities?limit=100"} {
				w.object(w.do(request{method: "GET", path: path, as: as}))
			}
		}
	})

	t.Run("events", func(t *testing.T) {
		w := newEventsWorld(t)
		w.changes.text = strings.Repeat(`"`, 60_000)
		w.happen(60)
		for seen, cursor := 0, ""; seen < 60; {
			p := w.list("asker", "?limit=100"+cursor)
			seen += len(p.Items)
			cursor = "&cursor=" + url.QueryEscape(p.Cursor)
			if len(p.Items) == 0 {
				t.Fatalf("the log ends after %d events", seen)
			}
		}
	})

	t.Run("exports", func(t *testing.T) {
		w := everyRoute(t)
		text := `{"text":` + quote(strings.Repeat(`"`, 260_000)) + `}`
		for range 4 {
			w.object(w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: `{"target_handle":"helper","parts":[` + text + "," + text + `]}`}))
		}
		messages := 0
		for path := "/v1/organizations/" + w.in(w.key["admin"]).Organization.String() + "/export"; path != ""; {
			a := w.do(request{method: "POST", path: path, as: "admin"})
			if a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			messages += strings.Count(a.body, `{"type":"message",`)
			base, _, _ := strings.Cut(path, "?")
			path = ""
			if next := a.header["Next-Cursor"]; next != "" {
				path = base + "?cursor=" + url.QueryEscape(next)
			}
		}
		if messages != 4 {
			t.Errorf("%d messages", messages)
		}
	})

	t.Run("problems", func(t *testing.T) {
		w := newWorld(t)
		for what, body := range map[string]string{
			"parts":      `{"target_handle":"helper","parts":[` + strings.Repeat("{},", 200_000) + `{}]}`,
			"extensions": `{"target_handle":"helper","message":"x","extensions":[` + strings.Repeat(`"",`, 200_000) + `""]}`,
		} {
			p := w.problem(w.do(request{method: "POST", path: "/v1/a2a/tasks", as: "asker", body: body}))
			if p.Status != 400 || len(p.Errors) > 100 {
				t.Errorf("%s: %d with %d errors", what, p.Status, len(p.Errors))
			}
		}
		skills := `{"handle":"new","skills":[` + strings.Repeat("{},", 200_000) + `{}]}`
		if p := w.problem(w.do(request{method: "POST", path: "/v1/identities", as: "admin", body: skills})); p.Status != 400 {
			t.Errorf("skills: %+v", p)
		}
	})
}

// Where an agent's card is, is told by what the gateway says of the request, not by what its sender does.
func TestCardURLIsOfHTTPOrHTTPS(t *testing.T) {
	w := newWorld(t)
	discoverable := true
	_, err := w.people.EditIdentity(t.Context(), w.in(w.key["admin"]), "helper", directory.IdentityEdit{Discoverable: &discoverable})
	w.must(err)
	// Only what the gateway serves is told.
	if r := w.do(request{method: "GET", path: "/v1/discover", as: "asker"}); !strings.Contains(r.body, `"card_url":null`) {
		t.Errorf("an address that nothing serves: %s", r.body)
	}
	card := httpapi.Route{Method: "GET", Path: "/a2a/{agent}/.well-known/agent-card.json", Endpoint: "none"}
	httpapi.Routes = append(httpapi.Routes, card)
	defer func() { httpapi.Routes = httpapi.Routes[:len(httpapi.Routes)-1] }()
	for proto, want := range map[string]string{"": "https://", "https": "https://", "http": "http://", "javascript": "https://", "http://evil/?": "https://"} {
		a := w.do(request{method: "GET", path: "/v1/discover", as: "asker", header: map[string]string{"X-Forwarded-Proto": proto, "Host": "api.example.com"}})
		var page struct {
			Items []struct {
				CardURL string `json:"card_url"`
			}
		}
		w.must(json.Unmarshal([]byte(a.body), &page))
		if len(page.Items) != 1 || !strings.HasPrefix(page.Items[0].CardURL, want+"api.example.com/") {
			t.Errorf("%q: %s", proto, a.body)
		}
	}
}
