package serve

// MaxHandshakes is how many connections may be open without an upgrade request.
const MaxHandshakes = maxHandshakes
