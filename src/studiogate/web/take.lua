local time = redis.call('TIME')
local now = time[1] - 1735689600 + time[2] / 1000000
local interval, burst, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local full_at = now + burst * interval
local arrival = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
local after = arrival + math.max(cost, 1) * interval
if after > full_at + 0.000001 then
    return {0, 0, string.format('%.6f', after - full_at)}
end
if cost > 0 then
    arrival = after
    redis.call('SET', KEYS[1], string.format('%.17g', arrival), 'PX', math.ceil((arrival - now) * 1000) + 1000)
end
return {1, math.floor((full_at - arrival) / interval + 0.001), '0'}
