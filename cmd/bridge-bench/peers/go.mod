module codex-bridge-peers

go 1.26.0

require (
	github.com/creachadair/jrpc2 v1.3.6
	github.com/google/go-cmp v0.7.0
	go.lsp.dev/jsonrpc2 v1.0.1
)

require (
	github.com/creachadair/mds v0.31.0 // indirect
	github.com/go-json-experiment/json v0.0.0-20260601182631-00ed12fed2a6 // indirect
	golang.org/x/sync v0.24.0 // indirect
)
