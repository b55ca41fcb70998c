"""The playground: `unmask serve`, a page on this machine alone where a problem is typed and its model seen at work."""
