-- Adding a grant deletes the expired ones, and the oldest of its workspace.
CREATE INDEX grants_expires ON grants (expires);
CREATE INDEX grants_workspace ON grants (workspace, seq);
