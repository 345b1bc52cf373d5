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

local function above(a, b)
	return #a > #b or #a == #b and a > b
end

local token, sequence, mode = ARGV[1], ARGV[2], ARGV[3]
local kept = redis.call('HMGET', KEYS[1], 'token', 'sequence', 'shared')
local mark = {}
for i = 1, 3 do
	mark[i] = kept[i] or '0'
	if not string.match(mark[i], '^%d+$') or #mark[i] > 19 or mark[i] ~= '0' and string.sub(mark[i], 1, 1) == '0' then
		return redis.error_reply('ERR the mark ' .. KEYS[1] .. ' is damaged')
	end
end
local exclusive, done, shared = mark[1], mark[2], mark[3]

local refused = above(exclusive, token)
if mode == 'exclusive' then
	refused = refused or above(shared, token)
	refused = refused or token == exclusive and sequence ~= '0' and not above(sequence, done)
end
if refused then
	return {mark, 'refused'}
end

-- The mark comes first, and is written also where it stays the same: it is there where a
-- command fails, and who may not write it does nothing else.
if mode == 'shared' then
	if above(token, exclusive) and above(token, shared) then
		redis.call('HSET', KEYS[1], 'shared', token)
	end
else
	if above(token, exclusive) then
		done = '0'
	end
	redis.call('HSET', KEYS[1], 'token', token, 'sequence', done)
	if shared ~= '0' then
		redis.call('HDEL', KEYS[1], 'shared')
	end
end

-- Lua does not unpack more arguments than its stack holds.
local function run(arguments)
	local ran, answer = pcall(function() return redis.pcall(unpack(arguments)) end)
	if not ran then
		return nil, 'ERR ' .. tostring(answer)
	end
	if type(answer) == 'table' and answer.err then
		return nil, answer.err
	end
	return answer, nil
end

local answers = {}
local next = 4
for i = 2, #KEYS do
	local arguments = {ARGV[next], KEYS[i]}
	local last = next + 1 + tonumber(ARGV[next + 1])
	for n = next + 2, last do
		arguments[#arguments + 1] = ARGV[n]
	end
	next = last + 1
	local answer, err = run(arguments)
	if err then
		return {false, answers, err}
	end
	answers[#answers + 1] = answer
end
if sequence ~= '0' then
	local _, err = run({'HSET', KEYS[1], 'sequence', sequence})
	if err then
		return {false, answers, err}
	end
end
return {false, answers}
