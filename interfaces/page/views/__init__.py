"""Views of a home: the values that the templates of the page show."""
