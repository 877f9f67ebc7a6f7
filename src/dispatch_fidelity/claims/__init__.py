"""Report to claims: readers of the forms in which a report says what was done."""
