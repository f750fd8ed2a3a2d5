"""A server of the Model Context Protocol, of the extra ``almoner-client[mcp]``: ``almoner-client mcp``."""
