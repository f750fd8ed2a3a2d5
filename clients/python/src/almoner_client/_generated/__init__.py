"""Made from openapi.json by `make clients`; do not edit."""
