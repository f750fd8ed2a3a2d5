"""People who sign in: members of partners, operators of the deployment."""
