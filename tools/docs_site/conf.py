"""Sphinx reads its settings here; `python -m tools.docs_site` runs it."""

project = "Almoner"
extensions = ["myst_parser"]
myst_heading_anchors = 4
templates_path = ["_templates"]
exclude_patterns = ["_templates", "_static"]
html_theme = "furo"
html_title = "Almoner documentation"
html_static_path = ["_static"]
html_css_files = ["docs.css"]
html_js_files = [("docs.js", {"type": "module"})]
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_domain_indices = False
html_use_index = False
html_permalinks_icon = "#"
smartquotes = False
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]
