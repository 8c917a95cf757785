"""Who may open the pages of messages."""

# It wants a message.
NOT_HERE = {"people/prolific/messages/send/"}
