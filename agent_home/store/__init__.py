"""Write and read memory: the gateway, transcripts, closings, references and proposals."""
