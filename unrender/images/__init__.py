"""Files to upright pages, and pages to pixels."""
