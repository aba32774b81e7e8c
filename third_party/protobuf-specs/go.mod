module github.com/sigstore/protobuf-specs

go 1.26.0
