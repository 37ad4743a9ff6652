"""The page on which a person sees and reviews memory: views of a home as HTML, behind a sign-in of its own."""
