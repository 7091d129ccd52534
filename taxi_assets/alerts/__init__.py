"""Alerts: what went wrong and what is well again, told once to whom it concerns, in Slack, by e-mail or otherwise.

facts.py and lateness.py read what has happened. plan.py decides which notices there are, wording.py puts them into
words, messages.py makes messages of them, and routes.py sends these. sensor.py has them do so once a minute.
"""
