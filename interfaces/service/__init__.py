"""The warm process of a home: the socket that commands and hooks ask first, and HTTP for everybody else."""
