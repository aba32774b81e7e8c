package store

import "time"

// Grant is an approval that is remembered. What counts is the digest; the other
// texts are for people, and are cut like those of a Decision.
type Grant struct {
	ID        string    `json:"id"`
	Digest    string    `json:"digest"` // of what exactly was allowed, and where
	Workspace string    `json:"workspace"`
	Tool      string    `json:"tool"`
	What      string    `json:"what"`
	Client    string    `json:"client"`
	Thread    string    `json:"thread"`
	Created   time.Time `json:"created"` // kept in microseconds
	Expires   time.Time `json:"expires"`
}

// At tells whether the grant counts at a moment. A clock that shows a time before
// the grant was made has been set back, and says nothing about its end.
func (g Grant) At(now time.Time) bool {
	return !now.Before(g.Created) && now.Before(g.Expires)
}

// grantColumns of a row, in the order in which Grant.from reads them.
const grantColumns = `id, digest, workspace, tool, what, client, thread, created, expires`

func (g *Grant) from(scan func(...any) error) error {
	var created, expires string
	err := scan(&g.ID, &g.Digest, &g.Workspace, &g.Tool, &g.What, &g.Client, &g.Thread, &created, &expires)
	if err != nil {
		return err
	}
	if g.Created, err = time.Parse(stampForm, created); err != nil {
		return err
	}
	g.Expires, err = time.Parse(stampForm, expires)
	return err
}

// kept is the grant as both databases hold it.
func (g Grant) kept() Grant {
	for _, text := range []*string{&g.ID, &g.Digest, &g.Workspace, &g.Tool, &g.What, &g.Client, &g.Thread} {
		*text = bounded(*text)
	}
	g.Created, g.Expires = g.Created.UTC().Truncate(time.Microsecond), g.Expires.UTC().Truncate(time.Microsecond)
	return g
}
