-- A log that machines share is not sent to a fleet log. The numbers of both databases are the same.
SELECT;
