"""Makes the generated parts of the clients in ``clients/`` from the API description."""
