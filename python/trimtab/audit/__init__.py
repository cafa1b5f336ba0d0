"""What compactions keep: the rules, requests, tasks, decisions, files and errors of messages, and where they stand."""
