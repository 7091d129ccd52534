"""Alerts: what went wrong and what is well again, told once to whom it concerns, in Slack, by e-mail or otherwise.

facts.py and lateness.py read what has happened, plan.py decides what is to be told, messages.py puts it into words,
routes.py sends it; sensor.py has them do so once a minute.
"""
