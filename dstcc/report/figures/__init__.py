"""The report's figures: each module draws one kind as inline SVG."""
