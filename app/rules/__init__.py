"""Rules: what merchandisers pin, boost, bury, hide and limit."""
