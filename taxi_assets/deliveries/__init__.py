"""Deliveries: a feed's files for a period, from their names in landing to what has become of them.

Which feeds there are, and for which periods, a catalog says; what is inside a file, its bronze table.
"""
