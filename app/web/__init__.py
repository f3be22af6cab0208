"""The storefront and the dashboard."""
