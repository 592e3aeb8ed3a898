-- Where the title is from: 0 the first question, 1 a model, 2 a person. Of the titles that
-- were there before it is not known, and they stay.
ALTER TABLE conversations ADD COLUMN titled INTEGER NOT NULL DEFAULT 0;
UPDATE conversations SET titled = 2 WHERE title <> '';
