-- migrate:up

-- The keys under which a name is found although one letter is missing, added, wrong or swapped with its neighbour: each
-- word, and each word without one of its letters. Two words with such a difference share a key. Keys are hashes with the
-- studio in them, so that an index over all studios reads the members of one. The name is given as `folded` returns it.
-- The index below stores the results: a change of this function needs a new index.
create function name_keys(of_studio uuid, written text) returns integer[]
language plpgsql immutable parallel safe strict cost 1000 as $$
declare
    seed text := ' ' || of_studio;
    word text;
    keys integer[] := '{}';
begin
    foreach word in array string_to_array(translate(left(written, 200), '-''’.', ' '), ' ') loop
        -- Two letters would be shared by too many words.
        if length(word) >= 3 then
            word := left(word, 16);
            keys := keys || hashtext(word || seed);
            if length(word) > 3 then
                for cut in 1..length(word) loop
                    keys := keys || hashtext(left(word, cut - 1) || substr(word, cut + 1) || seed);
                end loop;
            end if;
        end if;
    end loop;
    return keys;
end $$;

-- migrate:step
-- New members wait in the index's list for a batch. Every search reads that list, so it is short.
create index concurrently members_by_similar_name on members using gin (name_keys(studio_id, folded(name)))
    with (gin_pending_list_limit = 1024);
