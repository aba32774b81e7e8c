// Package otlp sends traces and metrics of the OpenTelemetry SDK to a collector, as OTLP over
// HTTP in its JSON form.
//
// It is not the SDK's own exporter: that links gRPC and protobuf, which cost each start of the
// program 2 ms, whether anything is sent or not. What can't be sent is dropped; the SDK is told
// why. A Client may be used from everywhere at once.
package otlp
