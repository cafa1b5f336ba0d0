-- What is new is noted once a list, not once a message.
DROP TRIGGER messages_unindexed ON messages;
DROP FUNCTION note_unindexed;
