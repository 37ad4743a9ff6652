"""A bot in Slack: its threads become sessions, and its answers get the prompt that their readers may see."""
