-- PostgreSQL searches by the time itself. The numbers of both databases are the same.
SELECT;
