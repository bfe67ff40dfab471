"""Figures of curves, drawn with matplotlib, which is imported when a figure is drawn."""
