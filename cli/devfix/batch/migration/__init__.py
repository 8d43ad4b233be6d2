"""One repository from its clone to its outcome: found, repaired, judged and committed."""
