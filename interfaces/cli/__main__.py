"""Run ``memory`` in this process: ``python -m interfaces.cli``."""

from interfaces.cli import main

if __name__ == "__main__":
    main()
