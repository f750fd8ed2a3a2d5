"""Pages for operators over the services that the commands use: reviews, money, data, partners, people, health."""
