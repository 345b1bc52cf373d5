-- Runs commands if a claim is admitted by the mark of its scope, and raises the mark.
--
-- KEYS[1] is the mark; the keys of the commands follow, one each.
-- ARGV: the claim's token, sequence (0: none) and mode; then for each command its name,
-- the number of its further arguments, and these.
--
-- Returns {mark, 'refused'}, or {nil, answers}, or, where a command failed, {nil, answers of
-- those before it, its error}. What keeps the sequence number counts as the last command. The
-- script itself fails only before the mark is raised: its error says that nothing was done.
--
-- Numbers stay decimal texts: Lua's are doubles, and confuse neighbours above 2^53.

local call = redis.call
local token, sequence, mode = ARGV[1], ARGV[2], ARGV[3]
local kept = call('HMGET', KEYS[1], 'token', 'sequence', 'shared')
local exclusive, done, shared = kept[1] or '0', kept[2] or '0', kept[3] or '0'

-- The claim's token is a number, and most often it is the mark.
local function damaged(text)
	return text ~= '0' and text ~= token and (#text > 19 or not string.find(text, '^[1-9]%d*$'))
end
if damaged(exclusive) or damaged(done) or damaged(shared) then
	return redis.error_reply('ERR the mark ' .. KEYS[1] .. ' is damaged')
end

local function above(a, b)
	return #a > #b or #a == #b and a > b
end

local refused = above(exclusive, token)
if mode == 'exclusive' then
	refused = refused or above(shared, token)
	refused = refused or token == exclusive and sequence ~= '0' and not above(sequence, done)
end
if refused then
	return {{exclusive, done, shared}, 'refused'}
end

-- The mark comes first, and is written also where it stays the same: it is there where a
-- command fails, and who may not write it does nothing else.
if mode == 'shared' then
	if above(token, exclusive) and above(token, shared) then
		call('HSET', KEYS[1], 'shared', token)
	end
else
	if above(token, exclusive) then
		call('HSET', KEYS[1], 'token', token, 'sequence', '0')
	else
		call('HSET', KEYS[1], 'token', token)
	end
	if shared ~= '0' then
		call('HDEL', KEYS[1], 'shared')
	end
end

-- Lua does not unpack more arguments than its stack holds, which are some thousand.
local many = 1000
local function run(name, key, first, last)
	if last - first < many then
		return redis.pcall(name, key, unpack(ARGV, first, last))
	end
	local ran, answer = pcall(function() return redis.pcall(name, key, unpack(ARGV, first, last)) end)
	if not ran then
		return {err = 'ERR ' .. tostring(answer)}
	end
	return answer
end

local answers = {}
local next = 4
for i = 2, #KEYS do
	local last = next + 1 + ARGV[next + 1]
	local answer = run(ARGV[next], KEYS[i], next + 2, last)
	if type(answer) == 'table' and answer.err then
		return {false, answers, answer.err}
	end
	next = last + 1
	answers[i - 1] = answer
end
if sequence ~= '0' then
	local answer = redis.pcall('HSET', KEYS[1], 'sequence', sequence)
	if type(answer) == 'table' and answer.err then
		return {false, answers, answer.err}
	end
end
return {false, answers}
