"""Who may open the pages of messages."""

# It wants a message.
NOT_HERE = {"people/prolific/messages/send/"}
LEFT_OUT = {"recruiting on Prolific, tried with the simulated one": "messages:"}
