"""The Model Context Protocol over a home: tools, prompts and resources for any host, over stdio and HTTP."""
