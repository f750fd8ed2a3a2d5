"""Appeals: a second look at what an application failed by."""
