"""Several machines share one blackboard through PostgreSQL. Imported only where a team is joined: it needs psycopg."""
