"""Releases of the summarizers' clients that changed something; `make slow` runs the matrix of failures with each."""

RELEASES = [
    "anthropic==0.121.0",
    "anthropic==1.0.0",
    "anthropic==1.17.0",
    "anthropic==2.0.0",
    "anthropic==2.12.0",
    "openai==1.66.0",
    "openai==1.109.1",
    "openai==2.0.0",
    "openai==3.0.0",
    "openai==3.54.0",
]
