// Package siem writes decisions in the forms that security tools read: events of the Open
// Cybersecurity Schema Framework (OCSF) and lines of the Common Event Format (CEF).
package siem
